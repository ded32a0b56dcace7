listen ENV.fetch("SOCKET"), backlog: 4096
worker_processes Integer(ENV.fetch("WORKERS"))
preload_app true
