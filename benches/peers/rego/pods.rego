# What the controls read of an object: the Pod that it is, or of which it has a template. Gatekeeper's input is a review with
# the object in it, conftest's is the object.
package lib.pods

manifest := input.review.object if input.review

manifest := input if not input.review

pod := manifest if manifest.kind == "Pod"

pod := manifest.spec.template if manifest.kind in ["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"]

pod := manifest.spec.jobTemplate.spec.template if manifest.kind == "CronJob"

spec := pod.spec

started := array.concat(object_list("initContainers"), object_list("containers"))

containers := array.concat(object_list("ephemeralContainers"), started)

# Security contexts of the Pod and of its containers.
contexts := [c.securityContext | some c in array.concat([spec], containers)]

object_list(name) := list if {
	list := spec[name]
} else := []
