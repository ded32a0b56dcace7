listen "#{ENV.fetch('HOST')}:#{ENV.fetch('PORT')}", backlog: Integer(ENV.fetch("BACKLOG"))
worker_processes Integer(ENV.fetch("WORKERS"))
preload_app true
