(ns hello
  (:require [ring.adapter.jetty :refer [run-jetty]])
  (:import (org.eclipse.jetty.server HttpConfiguration HttpConnectionFactory Server ServerConnector))
  (:gen-class))

(defn hello [request]
  (if (and (= :get (:request-method request)) (= "/" (:uri request)))
    {:status 200 :headers {"Content-Type" "text/plain"} :body "Hello, World!"}
    {:status 404 :headers {} :body ""}))

(defn -main [host port workers threads]
  (let [listen (fn [^Server server]
                 (let [http (HttpConnectionFactory. (HttpConfiguration.))
                       connector (doto (ServerConnector. server nil nil nil
                                                         1 (Integer/parseInt workers)
                                                         (into-array [http]))
                                   (.setHost host)
                                   (.setPort (Integer/parseInt port))
                                   (.setAcceptQueueSize 4096))]
                   (.addConnector server connector)))]
    (run-jetty hello {:http? false
                      :configurator listen
                      :max-threads (Integer/parseInt threads)})))
