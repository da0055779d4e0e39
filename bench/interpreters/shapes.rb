# SPDX-License-Identifier: Apache-2.0
# Ruby stacks of random shapes. `stops N SEED`: N times, prints the stack that Ruby itself sees, one line "NAME (FILE):LINE|…",
# and waits for a line of input. `churn`: defines, calls and drops methods for ever.
# Methods that are written in C; they have the line of their caller.
C_METHODS = %w[each map sort times call send public_send instance_eval eval inject loop new catch].freeze

# A label with the method's class.
def named(label)
  name = label[/[^ ]+\z/].to_sym
  separator = Node.singleton_methods(false).include?(name) ? "." : "#"
  is_nodes = separator == "." || Node.method_defined?(name, false) || Node.private_method_defined?(name, false)
  is_nodes ? label.delete_suffix(name.to_s) + "Node" + separator + name.to_s : label
end

def stop
  callers = caller_locations(1).reject { |location| C_METHODS.include?(location.label) }
  $stdout.write(callers.map { |one| "#{named(one.label)} (#{File.basename(one.path)}):#{one.lineno}" }.join("|"), "\n")
  $stdout.flush
end

class Node
  def initialize(depth) = @depth = depth
  def plain(depth) = grow(depth)
  def self.of_class(depth) = grow(depth)
  def +(other) = grow(@depth)

  def <=>(_)
    grow(@depth)
    0
  end

  def each_twice
    yield @depth
  end

  define_method(:defined) { |depth| grow(depth) }

  def method_missing(_, depth) = grow(depth)
  def respond_to_missing?(*) = true
end

def rescued(depth)
  raise ArgumentError
rescue ArgumentError
  grow(
    depth
  )
end

def ensured(depth)
  depth + 1
ensure
  grow(depth)
end

WAYS = [
  ->(depth) { Node.new(depth).plain(depth) },
  ->(depth) { Node.of_class(depth) },
  ->(depth) { Node.new(depth) + 1 },
  ->(depth) { [Node.new(depth), Node.new(depth)].sort },
  ->(depth) { Node.new(depth).each_twice { |n| grow(n) } },
  ->(depth) { Node.new(depth).defined(depth) },
  ->(depth) { Node.new(depth).unknown(depth) },
  ->(depth) { [1].each { grow(depth) } },
  ->(depth) { [[1]].each { |x| x.map { |_| grow(depth) } } },
  ->(depth) { 1.times { grow(depth) } },
  ->(depth) { depth.tap { |n| grow(n) } },
  ->(depth) { [1, 2].inject { |_, _| grow(depth) } },
  ->(depth) { eval("\n\ngrow(depth)") },
  ->(depth) { Node.new(depth).instance_eval { grow(@depth) } },
  ->(depth) { catch(:thrown) { grow(depth) } },
  ->(depth) { method(:grow).to_proc.call(depth) },
  method(:rescued), method(:ensured)
].freeze

def grow(depth)
  if depth.zero?
    stop; $stdin.sysread(1)
    return 0
  end
  WAYS.sample(random: RANDOM).call(depth - 1)
  0
end

def churn
  loop do
    name = "f#{rand(1000)}"
    eval("#{"\n" * rand(50)}def #{name}(n)\n  n.zero? ? 0 : [n].each { |m| #{name}(m - 1) }\nend", nil, "#{name}.rb")
    send(name, rand(20))
    Object.send(:remove_method, name)
  end
end

RANDOM = Random.new((ARGV[2] || 1).to_i)
if ARGV[0] == "stops"
  ARGV[1].to_i.times { grow(RANDOM.rand(12)) }
else
  puts "churning"
  $stdout.flush
  churn
end
