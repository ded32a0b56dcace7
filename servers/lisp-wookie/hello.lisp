(defpackage :hello
  (:use :cl :wookie)
  (:export #:main))

(in-package :hello)

(defroute (:get "/") (request response)
  (send-response response :headers '(:content-type "text/plain") :body "Hello, World!"))

(defun serve (host port)
  (as:with-event-loop (:catch-app-errors t)
    (start-server (make-instance 'listener :bind host :port (parse-integer port)))))

(defun main ()
  "Serve; without arguments, tell the version of Wookie."
  (let ((arguments (uiop:command-line-arguments)))
    (if arguments
        (apply #'serve arguments)
        (write-line (asdf:component-version (asdf:registered-system "wookie"))))))
