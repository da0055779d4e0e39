# SPDX-License-Identifier: Apache-2.0
# A loop that freezes once, as loop.c does: loop.rb POLL DISPATCH KIND. An event is a byte of standard input.
require "socket"
require "tempfile"

FREEZE_S = 0.9
poll, dispatch, KIND = ARGV[0], ARGV[1].to_i, ARGV[2]
HERE, THERE = UNIXSocket.pair
OTHERS = Array.new(3) { IO.pipe }
HELD = Tempfile.new("early")
LOCK = Mutex.new
ITEMS = Queue.new

def keep(ready)
  LOCK.synchronize do
    File.open(HELD.path, "w") do |file|
      file.flock(File::LOCK_EX)
      ready << 1
      sleep(FREEZE_S)
    end
  end
  ITEMS << 1
  THERE.write("x")
end

def freeze_here
  case KIND
  when "cpu"
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + FREEZE_S
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  when "sleep" then sleep(FREEZE_S)
  when "child" then system("exec sleep #{FREEZE_S}")
  when "output" then `sleep #{FREEZE_S}; echo late`
  else
    ready = Queue.new
    helper = Thread.new { keep(ready) }
    ready.pop
    case KIND
    when "mutex" then LOCK.synchronize {}
    when "queue" then ITEMS.pop
    when "join" then helper.join
    when "flock" then File.open(HELD.path, "w") { |file| file.flock(File::LOCK_EX) }
    when "read" then HERE.sysread(1)
    when "answer-by-select" then IO.select([HERE], nil, nil, 20)
    else exit(2)
    end
  end
end

sources = poll.include?("many") ? [STDIN, *OTHERS.map(&:first)] : [STDIN]
(dispatch + 5).times do |turn|
  IO.select(sources)
  STDIN.sysread(1)
  freeze_here if turn + 1 == dispatch
end
puts "good"
