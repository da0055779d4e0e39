# SPDX-License-Identifier: Apache-2.0
def handle
  finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1
  total = 0
  total += 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish # FREEZE handle
end

while IO.select([STDIN])
  text = STDIN.read_nonblock(100, exception: false)
  break if text.nil?
  handle if text.include?("freeze")
end
