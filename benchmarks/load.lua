-- Sends the requests of a file in turn, and prints the latencies in microseconds as JSON. See load.py.
local requests, sent = {}, 0

function init(arguments)
   local file = assert(io.open(arguments[1], "rb"))
   local length = file:read("*n")
   while length do
      file:read(1)
      requests[#requests + 1] = file:read(length)
      length = file:read("*n")
   end
end

function request()
   sent = sent + 1
   return requests[(sent - 1) % #requests + 1]
end

function done(summary, latency)
   local counts = {}
   for place = 1, #latency do
      counts[place] = string.format("[%d,%d]", latency(place))
   end
   local errors = summary.errors
   local failed = string.format('{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}', errors.connect,
      errors.read, errors.write, errors.status, errors.timeout)
   io.write(string.format('\n{"seconds":%f,"failed":%s,"counts":[%s]}', summary.duration / 1e6, failed,
      table.concat(counts, ",")))
end
