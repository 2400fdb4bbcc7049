package codec

import (
	"context"
	"encoding/base64"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// CompileProto reads a .proto file and what it imports, from its folder, into the text of a [Schema].
func CompileProto(path string) (string, error) {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{filepath.Dir(path)}})}
	files, err := compiler.Compile(context.Background(), filepath.Base(path))
	if err != nil {
		return "", err
	}
	set := &descriptorpb.FileDescriptorSet{}
	addFile(set, map[string]bool{}, files[0])
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	return base64.StdEncoding.EncodeToString(raw), err
}

// addFile adds a file behind all that it imports.
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
