// Prints facts of the modules that an API server is built from, a fact a line: what CEL declares for policies, and what the Pod
// Security Standards check. release.py runs it with the modules of a server and compares two releases.
//
//	cel FUNCTION OVERLOAD (TYPES) TYPE     an overload; `new` before it: only for new expressions of the next release
//	macro NAME ARGUMENTS
//	check ID LEVEL VERSION…                 a check of the Pod Security Standards and the versions in which it changed
//	pod DEVIATION VERSION: CHECKS           which checks fail for a pod that deviates in one point, from VERSION on
//	sysctl NAME VERSION                     a parameter that pods may set at the level baseline, from VERSION on
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// The environment of expressions of a version; releases differ in the arguments of the function.
func environments(minor uint) *environment.EnvSet {
	make := reflect.ValueOf(environment.MustBaseEnvSet)
	arguments := []reflect.Value{reflect.ValueOf(version.MajorMinor(1, minor)), reflect.ValueOf(true)}
	return make.Call(arguments[:make.Type().NumIn()])[0].Interface().(*environment.EnvSet)
}

func declared(env *cel.Env, lines map[string]bool) {
	for name, function := range env.Functions() {
		for _, overload := range function.OverloadDecls() {
			var types []string
			for _, t := range overload.ArgTypes() {
				types = append(types, t.String())
			}
			member := ""
			if overload.IsMemberFunction() {
				member = "."
			}
			lines[fmt.Sprintf("cel %s%s %s (%s) %s", member, name, overload.ID(), strings.Join(types, ", "), overload.ResultType())] = true
		}
	}
	for _, macro := range env.Macros() {
		lines[fmt.Sprintf("macro %s %d", macro.Function(), macro.ArgCount())] = true
	}
}

func minor() uint {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/apiserver" {
			if module.Replace != nil {
				module = module.Replace
			}
			number, err := strconv.Atoi(strings.Split(module.Version, ".")[1])
			if err == nil {
				return uint(number)
			}
		}
	}
	panic("no version of k8s.io/apiserver")
}

// A pod that no level refuses.
const sound = `{"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}, "containers": [{"name": "a", "image": "a",
	"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}`

// What pods have in one point more, as merge patches of the specification; `container` is the one container.
var deviations = []string{
	`{"hostNetwork": true}`, `{"hostPID": true}`, `{"hostIPC": true}`,
	`{"securityContext": {"runAsNonRoot": null}}`, `{"securityContext": {"runAsNonRoot": false}}`, `{"securityContext": {"runAsUser": 0}}`,
	`{"securityContext": {"seccompProfile": null}}`, `{"securityContext": {"seccompProfile": {"type": "Unconfined"}}}`,
	`{"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}}`, `{"securityContext": {"seLinuxOptions": {"user": "u"}}}`,
	`{"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}`, `{"securityContext": {"windowsOptions": {"hostProcess": true}}}`,
	`{"securityContext": {"supplementalGroups": [0]}}`, `{"os": {"name": "windows"}}`,
	`{"container": {"securityContext": {"runAsUser": 0}}}`, `{"container": {"securityContext": {"privileged": true}}}`,
	`{"container": {"securityContext": {"procMount": "Unmasked"}}}`, `{"container": {"securityContext": {"allowPrivilegeEscalation": null}}}`,
	`{"container": {"securityContext": {"capabilities": {"drop": []}}}}`, `{"container": {"securityContext": {"capabilities": {"add": ["CHOWN"]}}}}`,
	`{"container": {"securityContext": {"capabilities": {"add": ["NET_RAW"]}}}}`, `{"container": {"ports": [{"containerPort": 1, "hostPort": 1}]}}`,
	`{"container": {"livenessProbe": {"httpGet": {"port": 1, "host": "a"}}}}`, `{"container": {"lifecycle": {"preStop": {"httpGet": {"port": 1, "host": "a"}}}}}`,
	`{"container": {"readinessProbe": {"grpc": {"port": 1}}}}`,
	`{"volumes": [{"name": "v", "hostPath": {"path": "/a"}}]}`, `{"volumes": [{"name": "v", "image": {"reference": "a"}}]}`,
	`{"volumes": [{"name": "v", "nfs": {"server": "a", "path": "/"}}]}`, `{"volumes": [{"name": "v", "gitRepo": {"repository": "a"}}]}`,
	`{"volumes": [{"name": "v", "ephemeral": {}}]}`, `{"volumes": [{"name": "v", "projected": {"sources": [{"podCertificate": {"signerName": "a/b", "keyType": "ED25519"}}]}}]}`,
}

func merged(base, patch any) any {
	into, isMap := base.(map[string]any)
	from, isPatch := patch.(map[string]any)
	if !isPatch {
		return patch
	}
	out := map[string]any{}
	if isMap {
		for key, value := range into {
			out[key] = value
		}
	}
	for key, value := range from {
		if value == nil {
			delete(out, key)
		} else {
			out[key] = merged(out[key], value)
		}
	}
	return out
}

func pod(patches ...string) *core.PodSpec {
	var spec any
	must(json.Unmarshal([]byte(sound), &spec))
	for _, text := range patches {
		var patch map[string]any
		must(json.Unmarshal([]byte(text), &patch))
		if own, ok := patch["container"]; ok {
			delete(patch, "container")
			patch["containers"] = []any{merged(spec.(map[string]any)["containers"].([]any)[0], own)}
		}
		spec = merged(spec, patch)
	}
	text, err := json.Marshal(spec)
	must(err)
	out := &core.PodSpec{}
	must(json.Unmarshal(text, out))
	return out
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// The checks that fail, by version.
func failing(evaluator policy.Evaluator, level api.Level, newest uint, spec *core.PodSpec) []string {
	var found []string
	for minor := uint(0); minor <= newest; minor++ {
		at := api.LevelVersion{Level: level, Version: api.MajorMinorVersion(1, int(minor))}
		var names []string
		for _, result := range evaluator.EvaluatePod(at, &meta.ObjectMeta{}, spec) {
			if !result.Allowed {
				names = append(names, strings.ReplaceAll(result.ForbiddenReason, " ", "-"))
			}
		}
		found = append(found, strings.Join(names, " "))
	}
	return found
}

func main() {
	newest := minor()
	lines := map[string]bool{}
	set := environments(newest)
	declared(set.StoredExpressionsEnv(), lines)
	now := map[string]bool{}
	declared(set.NewExpressionsEnv(), now)
	for line := range lines {
		if !now[line] {
			fmt.Println("stored " + line)
		}
	}
	// What the release before may read is what may be written by default.
	before := map[string]bool{}
	declared(environments(newest-1).NewExpressionsEnv(), before)
	for line := range now {
		if !before[line] {
			delete(lines, line)
			lines["new "+line] = true
		}
	}
	checks := policy.DefaultChecks()
	for _, check := range checks {
		line := fmt.Sprintf("check %s %s", check.ID, check.Level)
		for _, version := range check.Versions {
			line += " " + version.MinimumVersion.String()
		}
		lines[line] = true
	}
	evaluator, err := newEvaluator(checks)
	must(err)
	for _, deviation := range deviations {
		for _, users := range []string{`{}`, `{"hostUsers": false}`} {
			last := ""
			for minor, names := range failing(evaluator, api.LevelRestricted, newest, pod(deviation, users)) {
				if names != last {
					lines[fmt.Sprintf("pod %s %s v1.%d: %s", deviation, users, minor, names)] = true
				}
				last = names
			}
		}
	}
	_ = filepath.WalkDir("/proc/sys", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		name := strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
		spec := pod()
		spec.SecurityContext.Sysctls = []core.Sysctl{{Name: name, Value: "1"}}
		for minor, names := range failing(evaluator, api.LevelBaseline, newest, spec) {
			if names == "" {
				lines[fmt.Sprintf("sysctl %s v1.%d", name, minor)] = true
				break
			}
		}
		return nil
	})
	var sorted []string
	for line := range lines {
		sorted = append(sorted, line)
	}
	sort.Strings(sorted)
	for _, line := range sorted {
		fmt.Fprintln(os.Stdout, line)
	}
}

// Later releases take the newest version that they emulate as well.
func newEvaluator(checks []policy.Check) (policy.Evaluator, error) {
	make := reflect.ValueOf(policy.NewEvaluator)
	arguments := []reflect.Value{reflect.ValueOf(checks)}
	for i := 1; i < make.Type().NumIn(); i++ {
		arguments = append(arguments, reflect.Zero(make.Type().In(i)))
	}
	out := make.Call(arguments)
	err, _ := out[1].Interface().(error)
	return out[0].Interface().(policy.Evaluator), err
}
