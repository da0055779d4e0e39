// SPDX-License-Identifier: Apache-2.0
// freezing FLAG: see freezing.c. Its loop is a goroutine.
package main

import (
	"os"
	"strings"
	"sync"
	"time"
)

var lock sync.Mutex

//go:noinline
func keepIt() { time.Sleep(1500 * time.Millisecond) }

//go:noinline
func freezeLock() {
	isKept := make(chan bool)
	go func() {
		lock.Lock()
		isKept <- true
		keepIt()
		lock.Unlock()
	}()
	<-isKept
	lock.Lock()
	lock.Unlock()
}

//go:noinline
func freezeChannel() {
	answer := make(chan bool)
	go func() {
		keepIt()
		answer <- true
	}()
	<-answer
}

func main() {
	flag := os.Args[1]
	ticks := time.NewTicker(50 * time.Millisecond)
	for range ticks.C {
		way, err := os.ReadFile(flag)
		if err != nil {
			continue
		}
		if strings.TrimSpace(string(way)) == "lock" {
			freezeLock()
		} else {
			freezeChannel()
		}
		os.Remove(flag)
	}
}
