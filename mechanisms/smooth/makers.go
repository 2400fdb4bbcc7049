package smooth

import (
	"math/big"

	"github.com/louver/louver/budget/privacy"
)

// maker makes a noise and its β. All its noises give one kind of promise.
type maker struct {
	kind privacy.Kind
	make func(calibration) (noise, *big.Rat, error)
}

// makers lists the noises by name.
func makers() map[string]maker {
	return map[string]maker{
		"power":     {privacy.Pure, newPower},
		"cauchy":    {privacy.Pure, newCauchy},
		"student_t": {privacy.Pure, newStudent},
		"laplace":   {privacy.Approximate, newLaplace},
		"gaussian":  {privacy.Approximate, newGaussian},
		"lln":       {privacy.ZCDP, newLLN},
		"uln":       {privacy.ZCDP, newULN},
		"arsinh":    {privacy.ZCDP, newArsinh},
	}
}
