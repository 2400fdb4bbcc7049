package codec

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// CompileProto reads a .proto file and what it imports, from its folder, into the text of a [Schema].
func CompileProto(path string) (string, error) {
	sources := &protocompile.SourceResolver{ImportPaths: []string{filepath.Dir(path)}}
	file, err := compileProto(sources, filepath.Base(path))
	if err != nil {
		return "", err
	}
	set := &descriptorpb.FileDescriptorSet{}
	addFile(set, map[string]bool{}, file)
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	return base64.StdEncoding.EncodeToString(raw), err
}

func compileProto(sources *protocompile.SourceResolver, name string) (protoreflect.FileDescriptor, error) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{sources,
		protocompile.ResolverFunc(builtIn)})}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// message compiles a registered schema and finds the message at a place. That is the index of a message in the file,
// then the index of a message within that one, and so on.
func (r Registered) message(place []int) (protoreflect.MessageDescriptor, error) {
	const self = "registered.proto"
	texts := map[string]string{}
	for _, ref := range r.References {
		texts[ref.Name] = ref.Text
	}
	texts[self] = r.Text
	file, err := compileProto(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(texts)}, self)
	if err != nil {
		return nil, err
	}
	var message protoreflect.MessageDescriptor
	within := file.Messages()
	for _, i := range place {
		if i >= within.Len() {
			return nil, fmt.Errorf("no message at %v", place)
		}
		message = within.Get(i)
		within = message.Messages()
	}
	return message, nil
}

// addFile adds a file, after everything that it imports.
func addFile(set *descriptorpb.FileDescriptorSet, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		addFile(set, seen, f.Imports().Get(i).FileDescriptor)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
}
