# SPDX-License-Identifier: Apache-2.0
def handle
  sleep(1) # FREEZE handle
end

while IO.select([STDIN])
  text = STDIN.read_nonblock(100, exception: false)
  break if text.nil?
  handle if text.include?("freeze")
end
