# SPDX-License-Identifier: Apache-2.0
# Freezes its loop in the way that the argument names, and prints the stack that Ruby itself sees there.
SECONDS = 0.6

# Methods that are written in C; they have the line of their caller.
C_METHODS = %w[each sort times send].freeze

# A label with the method's class.
def named(label)
  name = label[/[^ ]+\z/]
  return label unless Handler.method_defined?(name, false) || Handler.singleton_methods(false).include?(name.to_sym)
  label.delete_suffix(name) + (Handler.method_defined?(name, false) ? "Handler#" : "Handler.") + name
end

# Prints "NAME (FILE):LINE" of each caller that is written in Ruby, innermost first. Called on the line that then freezes.
def tell
  callers = caller_locations(1).reject { |location| C_METHODS.include?(location.label) }
  puts(callers.map { |location| "#{named(location.label)} (#{File.basename(location.path)}):#{location.lineno}" })
  $stdout.flush
end

def end_of_freeze = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS

class Handler
  def self.spin_itself
    end_at = end_of_freeze
    tell; while Process.clock_gettime(Process::CLOCK_MONOTONIC) < end_at do end
  end

  def spin = self.class.spin_itself

  def pause
    tell; sleep SECONDS
  end

  def order
    end_at = end_of_freeze
    is_told = false
    [3, 1, 2].sort do |a, b|
      is_told or begin is_told = true; tell; 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < end_at end
      a <=> b
    end
  end

  def pattern
    text = "a" * 27
    tell; /(a+)+$/.match(text + "b")
  end

  # Ruby's own functions in C, for all of the time.
  def count
    tell; ("a".."mmmmm").count
  end

  def rescued
    end_at = end_of_freeze
    raise "an error"
  rescue StandardError
    tell; while Process.clock_gettime(Process::CLOCK_MONOTONIC) < end_at do end
  ensure
    1
  end

  define_method(:defined) do
    end_at = end_of_freeze
    [1].each { |_| tell; 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < end_at }
  end

  def fiber
    end_at = end_of_freeze
    lines = Fiber.new { tell; 1 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < end_at }
    lines.resume
  end
end

def main
  reader, = IO.pipe
  6.times do |turn|
    IO.select([reader], nil, nil, 0.05)
    Handler.new.send(ARGV[0]) if turn == 3
  end
end

main
