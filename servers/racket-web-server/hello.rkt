#lang racket/base
(require web-server/dispatch web-server/http web-server/safety-limits web-server/servlet-env)

(define (hello request)
  (response/full 200 #"OK" (current-seconds) #"text/plain" '() '(#"Hello, World!")))

(define-values (route url-of) (dispatch-rules [("") hello]))

(module+ main
  (define-values (host port) (vector->values (current-command-line-arguments)))
  (serve/servlet route
                 #:listen-ip host
                 #:port (string->number port)
                 #:servlet-regexp #rx""
                 #:stateless? #t
                 #:command-line? #t
                 #:safety-limits (make-safety-limits #:max-waiting 4096)))
