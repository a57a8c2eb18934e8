# One delivery a line: method, endpoint, header, body and time; a line with 1 or 0 for each.
require_relative "signatures"

$stdin.each_line(chomp: true) do |line|
  method, webhook, header, body, now = line.split("\t")
  given = [method, webhook, ARGV[0], header.unpack1("m0"), body.unpack1("m0"), now.to_i]
  puts(genuine?(*given) ? 1 : 0)
end
