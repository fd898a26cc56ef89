// Writes go.txt: of each field of the types in the schema tables given as arguments what Go's types
// say and published schemas do not. The format is described in crates/kubernetes/src/go.rs.
//
//	go mod init types && go get k8s.io/client-go@v0.36.3
//	go get k8s.io/apiextensions-apiserver@v0.36.3 k8s.io/kube-aggregator@v0.36.3
//	go run go_types.go crates/kubernetes/src/schema-1.36.txt crates/kubernetes/src/options.txt > crates/kubernetes/src/go.txt
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apimachinery/pkg/runtime"
	core "k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"
)

// Types by name, and the fields of the tables by type.
var (
	found  = map[string]reflect.Type{}
	wanted = map[string]map[string]bool{}
)

// `core/v1.Pod`: the last two parts of the package, `runtime.RawExtension` for packages without version.
func name(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	last := parts[len(parts)-1]
	if strings.HasPrefix(last, "v") && len(parts) > 1 {
		last = parts[len(parts)-2] + "/" + last
	}
	return last + "." + t.Name()
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func collect(t reflect.Type) {
	t = element(t)
	if t.Kind() != reflect.Struct || found[name(t)] != nil {
		return
	}
	found[name(t)] = t
	for i := 0; i < t.NumField(); i++ {
		if t.Field(i).IsExported() {
			collect(t.Field(i).Type)
		}
	}
}

// Structs that JSON does not see as objects.
func scalar(t reflect.Type) string {
	switch name(t) {
	case "meta/v1.Time", "meta/v1.MicroTime", "runtime.RawExtension":
		return "null"
	case "resource.Quantity", "intstr.IntOrString":
		return "zero"
	}
	return ""
}

// What a field shows of values that are empty.
func shows(t reflect.Type, options []string) string {
	has := func(option string) bool {
		for _, o := range options {
			if o == option {
				return true
			}
		}
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if has("omitempty") || has("omitzero") {
			return "empty"
		}
		return "null"
	case reflect.Slice, reflect.Map:
		switch {
		case has("omitempty"):
			return ""
		case has("omitzero"):
			return "empty"
		}
		return "null"
	case reflect.Struct:
		switch {
		case has("omitzero"):
			return "omitzero"
		case scalar(t) != "":
			return scalar(t)
		}
		return "zero"
	}
	if has("omitempty") || has("omitzero") {
		return ""
	}
	return "zero"
}

func fields(t reflect.Type, embedded string, lines map[string]string, of string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		parts := strings.Split(tag, ",")
		if parts[0] == "" && (f.Anonymous || strings.Contains(tag, "inline")) && f.Type.Kind() == reflect.Struct {
			below := f.Name
			if embedded != "" {
				below = embedded + "." + f.Name
			}
			fields(f.Type, below, lines, of)
			continue
		}
		if parts[0] == "" || parts[0] == "-" || !wanted[of][parts[0]] {
			continue
		}
		line := ""
		if inner := element(f.Type); inner.Kind() == reflect.String && inner.PkgPath() != "" {
			line += " " + inner.String()
		}
		if embedded != "" {
			line += " <" + embedded
		}
		if shown := shows(f.Type, parts[1:]); shown != "" {
			line += " " + shown
		}
		if line != "" {
			lines[parts[0]] = line
		}
	}
}

func main() {
	for _, path := range os.Args[1:] {
		file, err := os.Open(path)
		if err != nil {
			panic(err)
		}
		of := ""
		for lines := bufio.NewScanner(file); lines.Scan(); {
			line := lines.Text()
			if strings.HasPrefix(line, "#") {
				continue
			}
			if strings.HasPrefix(line, " ") {
				wanted[of][strings.TrimSuffix(strings.Fields(line)[0], "!")] = true
			} else {
				of = strings.Fields(line)[0]
				if wanted[of] == nil {
					wanted[of] = map[string]bool{}
				}
			}
		}
	}
	for _, scheme := range []*runtime.Scheme{core.Scheme, extensions.Scheme, aggregator.Scheme} {
		for _, t := range scheme.AllKnownTypes() {
			collect(t)
		}
	}
	fmt.Println("# What the Go types of Kubernetes 1.36 say of fields. Written by conformance/reference/go_types.go; the format is described in go.rs.")
	var names []string
	for of := range wanted {
		if found[of] != nil {
			names = append(names, of)
		} else {
			fmt.Fprintln(os.Stderr, "no Go type:", of)
		}
	}
	sort.Strings(names)
	for _, of := range names {
		lines := map[string]string{}
		fields(found[of], "", lines, of)
		if len(lines) == 0 {
			continue
		}
		fmt.Println(of)
		var all []string
		for field := range lines {
			all = append(all, field)
		}
		sort.Strings(all)
		for _, field := range all {
			fmt.Printf(" %s%s\n", field, lines[field])
		}
	}
}
