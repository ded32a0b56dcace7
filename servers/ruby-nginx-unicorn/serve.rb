# unicorn and nginx, side by side: a TERM, or the end of either, ends both.
# Their socket is in a folder of its own: a build's path may be too long for one.
require "fileutils"
require "tmpdir"

def serve(socket)
  children = []
  run = FileUtils.mkdir_p("run/#{ENV.fetch("PORT")}").first
  File.write("#{run}/upstream.conf", "server unix:#{socket} fail_timeout=0;\n")
  children << spawn({ "SOCKET" => socket }, "unicorn", "--config-file", "unicorn.rb", "config.ru")
  children << spawn("./nginx")
  children.delete(Process.wait)
  abort "unicorn or nginx ended by itself"
ensure
  children.each { |child| Process.kill("TERM", child) }
  Process.waitall
end

trap("TERM") { exit }
Dir.mktmpdir { |folder| serve("#{folder}/unicorn.sock") }
