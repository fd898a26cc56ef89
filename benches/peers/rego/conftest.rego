# All controls as conftest runs them.
package main

deny contains found if {
	some name
	some violation in data.controls[name].violation
	found := object.union(violation, {"object": sprintf("%s/%s", [input.kind, input.metadata.name])})
}
