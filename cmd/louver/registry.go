package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/registry"
)

// registry returns the schema registry that the streams need, or nil if they need none.
func (s RegistrySettings) registry(streams []*config.Stream) (codec.Registry, error) {
	needed := ""
	for _, stream := range streams {
		if stream.Input.Schema.Registry {
			needed = stream.Name
		}
	}
	switch {
	case s.SchemaRegistryURL == "" && needed != "":
		return nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_URL is not set; stream %s has schema: registry and wants one", needed)
	case s.SchemaRegistryURL == "":
		return nil, nil
	case (s.SchemaRegistryUsername == "") != (s.SchemaRegistryPasswordFile == ""):
		return nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_USERNAME=%q and LOUVER_SCHEMA_REGISTRY_PASSWORD_FILE=%q; want both or none", s.SchemaRegistryUsername, s.SchemaRegistryPasswordFile)
	}
	c := registry.Config{Username: s.SchemaRegistryUsername}
	for address := range strings.SplitSeq(s.SchemaRegistryURL, ",") {
		address = strings.TrimSpace(address)
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_URL: want an address such as https://registry:8081, without a password")
		}
		c.URLs = append(c.URLs, address)
	}
	if c.Username != "" {
		c.Password = func() (string, error) {
			return secretIn("LOUVER_SCHEMA_REGISTRY_PASSWORD_FILE", s.SchemaRegistryPasswordFile)
		}
		if _, err := c.Password(); err != nil {
			return nil, err
		}
	}
	client, err := registry.New(c)
	if err != nil {
		return nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_URL: %w", err)
	}
	return client, nil
}

// secretIn reads a password from the file that a setting names.
func secretIn(setting, path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", setting, err)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("%s=%q is empty; want a password", setting, path)
	}
	return secret, nil
}
