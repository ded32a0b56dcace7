# Puma 5 serves up to ten requests of one connection before it looks at the others.
max_fast_inline 1
