{-# LANGUAGE OverloadedStrings #-}

import Data.String (fromString)
import Network.HTTP.Types (methodGet, status200, status404)
import Network.Wai (Application, rawPathInfo, requestMethod, responseLBS)
import Network.Wai.Handler.Warp (defaultSettings, runSettings, setHost, setPort)
import Network.Wai.Handler.WarpTLS (runTLS, tlsSettings)
import System.Environment (getArgs)

hello :: Application
hello request respond
  | requestMethod request == methodGet && rawPathInfo request == "/" =
      respond $ responseLBS status200 [("Content-Type", "text/plain")] "Hello, World!"
  | otherwise = respond $ responseLBS status404 [] ""

main :: IO ()
main = do
  host : port : files <- getArgs
  let settings = setHost (fromString host) (setPort (read port) defaultSettings)
  case files of
    [cert, key] -> runTLS (tlsSettings cert key) settings hello
    _ -> runSettings settings hello
