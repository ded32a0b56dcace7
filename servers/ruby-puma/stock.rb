# All of puma's own settings but its watchdog: a race freezes servers for longer than its 60 s.
worker_timeout 86_400
