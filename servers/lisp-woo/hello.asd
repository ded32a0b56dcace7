(pushnew :woo-no-ssl *features*) ; plain HTTP: no OpenSSL is needed

(defsystem "hello"
  :depends-on ("woo")
  :components ((:file "hello"))
  :build-operation "program-op"
  :build-pathname "server"
  :entry-point "hello:main")
