# nginx in front of unicorn, over a socket in a folder that goes when they do: a TERM, or the end of
# either, ends both.
require "erb"
require "tmpdir"

def serve(folder)
  ENV["SOCKET"] = "#{folder}/unicorn.sock"
  File.chmod(0o755, folder) # started by root, nginx's workers are somebody else
  File.write("#{folder}/nginx.conf", ERB.new(File.read("nginx.conf.erb")).result)
  children = []
  children << spawn("unicorn", "--config-file", "unicorn.rb", "config.ru")
  children << spawn("/usr/sbin/nginx", "-p", folder, "-c", "nginx.conf", "-e", "stderr")
  children.delete(Process.wait)
ensure
  children.each { |child| Process.kill("TERM", child) }
  Process.waitall
end

trap("TERM") { exit }
Dir.mktmpdir { |folder| serve(folder) }
abort "nginx or unicorn ended by itself"
