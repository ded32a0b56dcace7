"""Live boards: files of published figures, checked for what their ranks are worth."""
