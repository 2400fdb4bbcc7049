package main

type checkCommand struct{}

func (c *checkCommand) Run(*App) error { return nil }
