// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait, for tests of their readers. The first argument is the scene, the second one the
// milliseconds that it lasts.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

var global sync.Mutex
var duration time.Duration

type account struct {
	balance int
	mutex   sync.Mutex
}

//go:noinline
func holdMutex(ready chan bool, release chan bool) {
	global.Lock()
	ready <- true
	<-release
	global.Unlock()
}

//go:noinline
func waitForMutex(done chan bool) {
	global.Lock()
	global.Unlock()
	done <- true
}

//go:noinline
func takeBoth(first, second *account, taken *sync.WaitGroup) {
	first.mutex.Lock()
	defer first.mutex.Unlock()
	taken.Done()
	taken.Wait()
	second.mutex.Lock()
	second.balance++
	second.mutex.Unlock()
}

//go:noinline
func readJobs(jobs chan int) {
	for job := range jobs {
		fmt.Println(job)
	}
}

//go:noinline
func contend(shared *account) {
	for {
		shared.mutex.Lock()
		time.Sleep(5 * time.Millisecond)
		shared.balance++
		shared.mutex.Unlock()
	}
}

func holdForAWhile() {
	ready, release, done := make(chan bool), make(chan bool), make(chan bool)
	go holdMutex(ready, release)
	<-ready
	go waitForMutex(done)
	fmt.Println("begun")
	time.Sleep(duration)
	release <- true
	<-done
}

func crossTwo() {
	var taken sync.WaitGroup
	taken.Add(2)
	one, other := new(account), new(account)
	go takeBoth(one, other, &taken)
	go takeBoth(other, one, &taken)
	fmt.Println("begun")
	time.Sleep(duration)
}

// Nothing hangs: workers have no job, locks are contended, a handler waits for what it is to send.
func idle() {
	var group sync.WaitGroup
	var changed = sync.NewCond(new(sync.Mutex))
	group.Add(1)
	shared := new(account)
	for i := 0; i < 4; i++ {
		go readJobs(make(chan int))
		go contend(shared)
	}
	go group.Wait()
	go func() {
		changed.L.Lock()
		changed.Wait()
	}()
	serve(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-make(chan bool):
		case <-r.Context().Done():
		}
	})
	fmt.Println("begun")
	time.Sleep(duration)
}

//go:noinline
func answerLate() {
	<-time.After(duration)
}

func request() {
	answered := serve(func(w http.ResponseWriter, r *http.Request) { answerLate() })
	fmt.Println("begun")
	<-answered
}

func serve(handler http.HandlerFunc) chan bool {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, handler)
	answered := make(chan bool)
	go func() {
		if answer, err := http.Get("http://" + listener.Addr().String()); err == nil {
			answer.Body.Close()
		}
		answered <- true
	}()
	return answered
}

func main() {
	milliseconds, _ := strconv.Atoi(os.Args[2])
	duration = time.Duration(milliseconds) * time.Millisecond
	scenes := map[string]func(){"mutex": holdForAWhile, "deadlock": crossTwo, "idle": idle, "request": request}
	scenes[os.Args[1]]()
}
