// Command cel-go compiles and evaluates expressions as the Kubernetes API server does and prints how long that
// takes. It reads {"object": …, "expressions": [{"expression", "variables": [[name, expression]…]}…]} on standard
// input and writes a line for each expression: {"result", "compile", "eval"}, the times in nanoseconds.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"

	"google.golang.org/protobuf/types/known/structpb"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

type named [2]string

type entry struct {
	Expression string  `json:"expression"`
	Variables  []named `json:"variables"`
}

type work struct {
	Object      json.RawMessage `json:"object"`
	Expressions []entry         `json:"expressions"`
}

// A measurement repeats until it took this long, and the best of several counts.
const (
	atLeast = 40 * time.Millisecond
	rounds  = 7
)

func best(f func()) float64 {
	n := 1
	for {
		start := time.Now()
		for range n {
			f()
		}
		if time.Since(start) >= atLeast {
			break
		}
		n *= 2
	}
	least := 0.0
	for i := range rounds {
		start := time.Now()
		for range n {
			f()
		}
		each := float64(time.Since(start).Nanoseconds()) / float64(n)
		if i == 0 || each < least {
			least = each
		}
	}
	return least
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var given work
	check(json.NewDecoder(os.Stdin).Decode(&given))
	var object map[string]any
	check(utiljson.Unmarshal(given.Object, &object))
	variables := apiservercel.NewObjectType("kubernetes.variables", map[string]*apiservercel.DeclField{})
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions:        []cel.EnvOption{cel.Variable("object", cel.DynType), cel.Variable("variables", cel.DynType)},
	})
	check(err)
	env := set.StoredExpressionsEnv()
	compile := func(text string) cel.Program {
		ast, issues := env.Compile(text)
		if issues != nil {
			check(issues.Err())
		}
		program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
		check(err)
		return program
	}
	for _, e := range given.Expressions {
		lazies := map[string]cel.Program{}
		for _, v := range e.Variables {
			lazies[v[0]] = compile(v[1])
		}
		program := compile(e.Expression)
		eval := func() ref.Val {
			activation := map[string]any{"object": object}
			if len(lazies) > 0 {
				values := lazy.NewMapValue(variables)
				for name, program := range lazies {
					values.Append(name, func(*lazy.MapValue) ref.Val {
						value, _, err := program.ContextEval(context.Background(), activation)
						if err != nil {
							return types.WrapErr(err)
						}
						return value
					})
				}
				activation["variables"] = values
			}
			value, _, err := program.ContextEval(context.Background(), activation)
			check(err)
			return value
		}
		native, err := eval().ConvertToNative(reflect.TypeFor[*structpb.Value]())
		check(err)
		line := map[string]any{
			"result": native,
			"compile": best(func() {
				compile(e.Expression)
				for _, v := range e.Variables {
					compile(v[1])
				}
			}),
			"eval": best(func() { eval() }),
		}
		check(json.NewEncoder(os.Stdout).Encode(line))
	}
}
