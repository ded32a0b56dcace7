hello = lambda do |env|
  if env["REQUEST_METHOD"] == "GET" && env["PATH_INFO"] == "/"
    [200, { "Content-Type" => "text/plain", "Content-Length" => "13" }, ["Hello, World!"]]
  else
    [404, { "Content-Length" => "0" }, []]
  end
end

run hello
