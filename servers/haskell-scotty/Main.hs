{-# LANGUAGE OverloadedStrings #-}

import Data.String (fromString)
import Network.Wai.Handler.Warp (defaultSettings, setHost, setPort)
import System.Environment (getArgs)
import Web.Scotty (Options (..), get, scottyOpts, text)

main :: IO ()
main = do
  [host, port] <- getArgs
  let listen = setHost (fromString host) (setPort (read port) defaultSettings)
  scottyOpts (Options 0 listen) $ get "/" $ text "Hello, World!"
