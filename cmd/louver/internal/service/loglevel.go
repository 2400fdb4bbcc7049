package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logLevel answers with the level of the log, and changes it: PUT {"level": "debug"}, or the form level=debug. Its
// answers are those of [zap.AtomicLevel.ServeHTTP], but no level hides errors.
func logLevel(level zap.AtomicLevel) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			level.ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1000)
		var wanted struct {
			Level string `json:"level"`
		}
		if wanted.Level = r.FormValue("level"); wanted.Level == "" {
			_ = json.NewDecoder(r.Body).Decode(&wanted) // whatever is wrong with it, there is no level
		}
		to, err := zapcore.ParseLevel(strings.TrimSpace(wanted.Level))
		w.Header().Set("Content-Type", "application/json")
		if err != nil || wanted.Level == "" || to > zapcore.ErrorLevel {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": fmt.Sprintf(
				`level %q; want debug, info, warn or error, as in {"level": "debug"}`, wanted.Level)})
			return
		}
		level.SetLevel(to)
		_ = json.NewEncoder(w).Encode(map[string]string{"level": to.String()})
	})
}
