(defpackage :hello
  (:use :cl :hunchentoot)
  (:export #:main))

(in-package :hello)

(define-easy-handler (say-hello :uri "/") ()
  (setf (content-type*) "text/plain")
  "Hello, World!")

(defun taskmaster (name)
  (cond ((string= name "multi")
         (make-instance 'one-thread-per-connection-taskmaster
                        :max-thread-count nil :max-accept-count nil))
        ((string= name "multi-limited")
         (make-instance 'one-thread-per-connection-taskmaster))
        ((string= name "single")
         (make-instance 'single-threaded-taskmaster))
        (t (error "expected multi, multi-limited or single, got ~A" name))))

(defun serve (host port taskmaster backlog &optional cert key)
  (start (apply #'make-instance (if cert 'easy-ssl-acceptor 'easy-acceptor)
                :address host
                :port (parse-integer port)
                :taskmaster (taskmaster taskmaster)
                :listen-backlog (parse-integer backlog)
                :access-log-destination nil
                (when cert
                  (list :ssl-certificate-file cert :ssl-privatekey-file key))))
  (loop (sleep 60)))

(defun main ()
  "Serve; without arguments, tell the version of Hunchentoot."
  (let ((arguments (uiop:command-line-arguments)))
    (if arguments
        (apply #'serve arguments)
        (write-line (asdf:component-version (asdf:registered-system "hunchentoot"))))))
