(defpackage :hello
  (:use :cl)
  (:export #:main))

(in-package :hello)

(defun app (env)
  (if (and (eq (getf env :request-method) :get) (string= (getf env :path-info) "/"))
      (list 200 '(:content-type "text/plain" :content-length 13) '("Hello, World!"))
      (list 404 '() '())))

(defun serve (host port workers)
  (woo:run #'app
           :address host
           :port (parse-integer port)
           :worker-num (parse-integer workers)
           :debug nil))

(defun main ()
  "Serve; without arguments, tell the version of Woo."
  (let ((arguments (uiop:command-line-arguments)))
    (if arguments
        (apply #'serve arguments)
        (write-line (asdf:component-version (asdf:registered-system "woo"))))))
