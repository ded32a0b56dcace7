(defsystem "hello"
  :depends-on ("hunchentoot")
  :components ((:file "hello"))
  :build-operation "program-op"
  :build-pathname "server"
  :entry-point "hello:main")
