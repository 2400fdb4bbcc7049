package main

type releaseCommand struct{}

func (c *releaseCommand) Run(*App) error { return nil }
