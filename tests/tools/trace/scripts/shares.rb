# SPDX-License-Identifier: Apache-2.0
# Two methods that share the processor 1 to 3. Prints heavy's share of the time.
def light
  total = 0
  8000.times { |i| total += i * i % 7 }
  total
end

def heavy
  total = 0
  24000.times { |i| total += i * i % 7 }
  total
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

seconds = ARGV[0].to_f
light_s = heavy_s = 0.0
while light_s + heavy_s < seconds
  start = now
  light
  middle = now
  heavy
  light_s += middle - start
  heavy_s += now - middle
end
puts heavy_s / (light_s + heavy_s)
