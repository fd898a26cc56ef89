// Turns a file of tests of CEL's specification into JSON, as the suite `cel-spec` has it.
//
// In: a file in the text format of protocol buffers, from the module cel.dev/expr. Out, on standard output: the same in the
// JSON mapping of protocol buffers with the names of the schema, indented by one space; doubles always with a point or an
// exponent; and in each test `uses_protobuf_messages`: whether it is about messages that Kubernetes' CEL does not have.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
)

var messages = regexp.MustCompile(`TestAllTypes|google\.protobuf|cel\.expr\.conformance|GlobalEnum|proto\.(get|has)Ext`)

var escapes = regexp.MustCompile(`\\.`)

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	text = asRecorded(text)
	var file test.SimpleTestFile
	check(prototext.Unmarshal(text, &file))
	plain, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(&file)
	check(err)
	in := json.NewDecoder(bytes.NewReader(plain))
	in.UseNumber()
	var out strings.Builder
	whole := read(in)
	order(whole, file.ProtoReflect().Descriptor())
	write(&out, whole, nil, 0)
	fmt.Print(out.String())
}

// The suite was made from a state of the tests a little before this version, by a reader that keeps the backslash of `\?`:
// so are these tests of literals.
func asRecorded(text []byte) []byte {
	name, inBytes, lines := "", false, strings.Split(string(text), "\n")
	for i, line := range lines {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case key == "name":
			name = value
			inBytes = inBytes && !strings.HasPrefix(line, "  name") || strings.Contains(value, "bytes_literals")
		case !strings.HasSuffix(name, `escaped_punctuation"`) || !inBytes:
			lines[i] = escapes.ReplaceAllStringFunc(line, func(escape string) string {
				if escape == `\?` {
					return `\\?`
				}
				return escape
			})
		case key == "expr":
			lines[i] = strings.ReplaceAll(line, `\\?`, `\\\\?`)
		case key == "value":
			lines[i] = strings.ReplaceAll(line, `?`, `\\?`)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Args[1], err)
		os.Exit(1)
	}
}

// An object with its keys in order.
type object struct {
	keys   []string
	values []any
}

func read(in *json.Decoder) any {
	token, err := in.Token()
	check(err)
	switch token {
	case json.Delim('{'):
		found := &object{}
		for in.More() {
			key, err := in.Token()
			check(err)
			found.keys = append(found.keys, key.(string))
			found.values = append(found.values, read(in))
		}
		_, err = in.Token()
		check(err)
		return found
	case json.Delim('['):
		found := []any{}
		for in.More() {
			found = append(found, read(in))
		}
		_, err = in.Token()
		check(err)
		return found
	}
	return token
}

// Puts fields in the order of their numbers.
func order(value any, of protoreflect.MessageDescriptor) {
	v, is := value.(*object)
	if !is {
		return
	}
	if of.FullName() == "google.protobuf.Any" {
		packed, err := protoregistry.GlobalTypes.FindMessageByURL(v.values[0].(string))
		check(err)
		of = packed.Descriptor()
	}
	if of.FullName().Parent() == "google.protobuf" {
		if hasDoubles(of) {
			doubles(v)
		}
		return
	}
	number := func(key string) protoreflect.FieldNumber {
		if field := of.Fields().ByName(protoreflect.Name(key)); field != nil {
			return field.Number()
		}
		return 0
	}
	values := map[string]any{}
	for i, key := range v.keys {
		field := of.Fields().ByName(protoreflect.Name(key))
		if field != nil {
			if kind := field.Kind(); kind == protoreflect.DoubleKind || kind == protoreflect.FloatKind || hasDoubles(field.Message()) {
				v.values[i] = doubles(v.values[i])
			}
		}
		values[key] = v.values[i]
		if field != nil && field.Message() != nil {
			inner, parts := field.Message(), []any{v.values[i]}
			if field.IsMap() {
				inner, parts = field.MapValue().Message(), v.values[i].(*object).values
			} else if field.IsList() {
				parts, _ = v.values[i].([]any)
			}
			for _, part := range parts {
				if inner != nil {
					order(part, inner)
				}
			}
		}
	}
	sort.SliceStable(v.keys, func(a, b int) bool { return number(v.keys[a]) < number(v.keys[b]) })
	for i, key := range v.keys {
		v.values[i] = values[key]
	}
}

// Whether a test is about messages; its container alone may be `google.protobuf`.
func usesMessages(of *object) bool {
	var text strings.Builder
	for i, key := range of.keys {
		if key != "name" && key != "description" && !(key == "container" && of.values[i] == "google.protobuf") {
			text.WriteString(strconv.Quote(key) + ": ")
			write(&text, of.values[i], nil, 0)
		}
	}
	return messages.MatchString(text.String())
}

func write(out *strings.Builder, value any, path []string, depth int) {
	line := "\n" + strings.Repeat(" ", depth+1)
	switch v := value.(type) {
	case *object:
		if len(path) == 2 && path[0] == "section" && path[1] == "test" {
			v.values = append(v.values, usesMessages(v))
			v.keys = append(v.keys, "uses_protobuf_messages")
		}
		before := "{"
		for i, key := range v.keys {
			out.WriteString(before + line + quoted(key) + ": ")
			write(out, v.values[i], append(path[:len(path):len(path)], key), depth+1)
			before = ","
		}
		if len(v.keys) == 0 {
			out.WriteString("{}")
			return
		}
		out.WriteString(line[:len(line)-1] + "}")
	case []any:
		before := "["
		for _, item := range v {
			out.WriteString(before + line)
			write(out, item, path, depth+1)
			before = ","
		}
		if len(v) == 0 {
			out.WriteString("[]")
			return
		}
		out.WriteString(line[:len(line)-1] + "]")
	case string:
		out.WriteString(quoted(v))
	case json.Number:
		out.WriteString(v.String())
	case nil:
		out.WriteString("null")
	default:
		fmt.Fprint(out, v)
	}
}

// A text in quotes; only what JSON cannot hold is escaped.
func quoted(text string) string {
	var plain strings.Builder
	in := json.NewEncoder(&plain)
	in.SetEscapeHTML(false)
	// Go escapes these for the sake of JavaScript.
	for _, separator := range []string{"\u2028", "\u2029"} {
		if before, after, found := strings.Cut(text, separator); found {
			first, second := quoted(before), quoted(after)
			return first[:len(first)-1] + separator + second[1:]
		}
	}
	check(in.Encode(text))
	return strings.TrimSuffix(plain.String(), "\n")
}

// Whether the numbers of a message of general use are doubles.
func hasDoubles(of protoreflect.MessageDescriptor) bool {
	if of == nil || of.FullName().Parent() != "google.protobuf" {
		return false
	}
	switch of.Name() {
	case "FloatValue", "DoubleValue", "Struct", "Value", "ListValue":
		return true
	}
	return false
}

// Writes all numbers as doubles.
func doubles(value any) any {
	switch v := value.(type) {
	case *object:
		for i := range v.values {
			v.values[i] = doubles(v.values[i])
		}
	case []any:
		for i := range v {
			v[i] = doubles(v[i])
		}
	case json.Number:
		return double(v)
	}
	return value
}

// A double as it is usually written: shortest, with a point or an exponent.
func double(number json.Number) json.Number {
	value, err := number.Float64()
	check(err)
	if size := math.Abs(value); size != 0 && (size < 1e-4 || size >= 1e16) {
		// Singles that are nearly zero have fewer digits than they seem to have.
		for digits := 6; digits < 9 && size < 1e-38; digits++ {
			text := strconv.FormatFloat(float64(float32(value)), 'g', digits, 64)
			if back, _ := strconv.ParseFloat(text, 32); float32(back) == float32(value) {
				return json.Number(text)
			}
		}
		return json.Number(strconv.FormatFloat(value, 'g', -1, 64))
	}
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return json.Number(text)
}
