# SPDX-License-Identifier: Apache-2.0
# ruby freezing.rb FLAG: see freezing.c.
FLAG = ARGV[0]

def freeze_sleep
  sleep 1.5
end

def freeze_compute
  finish = Time.now + 1.5
  nil while Time.now < finish
end

def freeze_child
  system('sleep 1.5')
end

reader, = IO.pipe
loop do
  IO.select([reader], nil, nil, 0.05)
  next unless File.exist?(FLAG)
  send("freeze_#{File.read(FLAG).strip}")
  File.unlink(FLAG)
end
