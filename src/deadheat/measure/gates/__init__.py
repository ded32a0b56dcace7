"""Gates: validity checks of one trial, each with a reading, a threshold and advice."""
