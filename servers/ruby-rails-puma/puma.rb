# Puma 5 serves up to ten requests of one connection before it looks at the others.
max_fast_inline 1
# A race freezes servers for minutes. After 60 s, puma's watchdog would replace a frozen worker.
worker_timeout 86_400
