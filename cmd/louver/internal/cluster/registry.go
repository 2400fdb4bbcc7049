package cluster

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/publish"
	"github.com/louver/louver/stream/registry"
)

// Registries returns the schema registry that the streams need: the same one for what comes in and for what goes out,
// or nil twice if none is set. reads says that only the outputs matter.
func Registries(s cli.RegistrySettings, streams []*config.Stream, reads bool,
) (codec.Registry, publish.Registrar, error) {
	needed := ""
	for _, stream := range streams {
		switch {
		case stream.OutputFormat == config.OutputAvro:
			needed = fmt.Sprintf("stream %s has an output with format: avro", stream.Name)
		case stream.Input.Schema.Registry && !reads:
			needed = fmt.Sprintf("stream %s has schema: registry", stream.Name)
		}
	}
	client, err := registryOf(s)
	switch {
	case err != nil:
		return nil, nil, err
	case client == nil && needed != "":
		return nil, nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_URL is not set; %s and wants one", needed)
	case client == nil:
		return nil, nil, nil // interfaces that are nil
	}
	return client, client, nil
}

// registryOf returns the schema registry of the settings, or nil if they name none.
func registryOf(s cli.RegistrySettings) (*registry.Client, error) {
	switch {
	case s.SchemaRegistryURL == "":
		return nil, nil
	case (s.SchemaRegistryUsername == "") != (s.SchemaRegistryPasswordFile == ""):
		return nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_USERNAME=%q and LOUVER_SCHEMA_REGISTRY_PASSWORD_FILE=%q; want "+
			"both or none", s.SchemaRegistryUsername, s.SchemaRegistryPasswordFile)
	}
	c := registry.Config{Username: s.SchemaRegistryUsername}
	for address := range strings.SplitSeq(s.SchemaRegistryURL, ",") {
		address = strings.TrimSpace(address)
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
			u.User != nil {
			return nil, fmt.Errorf("LOUVER_SCHEMA_REGISTRY_URL: want an address such as https://registry:8081, " +
				"without a password")
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
		return "", fmt.Errorf("%s: %w; want a file that holds the password", setting, err)
	}
	secret := strings.TrimRight(string(b), "\r\n")
	if secret == "" {
		return "", fmt.Errorf("%s=%q is empty; want a password", setting, path)
	}
	return secret, nil
}
