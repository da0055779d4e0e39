# SPDX-License-Identifier: Apache-2.0
def handle
  /^(a+)+$/.match("a" * 26 + "b") # FREEZE handle
end

while IO.select([STDIN])
  text = STDIN.read_nonblock(100, exception: false)
  break if text.nil?
  handle if text.include?("freeze")
end
