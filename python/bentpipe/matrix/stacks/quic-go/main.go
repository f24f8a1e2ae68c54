// Server and client of a transfer over quic-go: the client asks for a number of bytes on each
// stream, and the server sends them. Streams after the first are opened together, when the first
// ended.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

var protocols = []string{"transfer"}

func main() {
	words := os.Args[1:]
	var err error
	switch {
	case len(words) == 4 && words[0] == "server":
		err = serve(words[1], words[2], words[3])
	case len(words) == 5 && words[0] == "client":
		err = load(net.JoinHostPort(words[1], words[2]), words[3], words[4])
	default:
		err = fmt.Errorf("usage: server PORT CERT KEY | client HOST PORT SIZE[,SIZE...] CERT")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(port, cert, key string) error {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols}
	listener, err := quic.ListenAddr("0.0.0.0:"+port, config, nil)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := answer(connection); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

func answer(connection *quic.Conn) error {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			break
		}
		go func() {
			if err := send(stream); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
	<-connection.Context().Done()
	fmt.Printf("{\"lost_packets\": %d}\n", connection.ConnectionStats().PacketsLost)
	return nil
}

func send(stream *quic.Stream) error {
	request := make([]byte, 8)
	if _, err := io.ReadFull(stream, request); err != nil {
		return err
	}
	piece := make([]byte, 1<<16)
	for left := binary.BigEndian.Uint64(request); left > 0; {
		size := min(left, uint64(len(piece)))
		if _, err := stream.Write(piece[:size]); err != nil {
			return err
		}
		left -= size
	}
	return stream.Close()
}

func load(server, sizes, cert string) error {
	var requests [][]byte
	for _, size := range strings.Split(sizes, ",") {
		bytes, err := strconv.ParseUint(size, 10, 64)
		if err != nil {
			return err
		}
		requests = append(requests, binary.BigEndian.AppendUint64(nil, bytes))
	}
	text, err := os.ReadFile(cert)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	config := &tls.Config{RootCAs: roots, ServerName: "server", NextProtos: protocols}
	began := time.Now()
	connection, err := quic.DialAddr(context.Background(), server, config, nil)
	if err != nil {
		return err
	}
	shaken := time.Since(began).Seconds()
	got, err := download(connection, requests[0])
	if err != nil {
		return err
	}
	type part struct {
		size int64
		err  error
	}
	parts := make(chan part)
	for _, request := range requests[1:] {
		go func() {
			size, err := download(connection, request)
			parts <- part{size, err}
		}()
	}
	for range requests[1:] {
		one := <-parts
		if one.err != nil {
			return one.err
		}
		got += one.size
	}
	completion := time.Since(began).Seconds()
	fmt.Printf("{\"handshake_s\": %g, \"completion_s\": %g, \"bytes\": %d}\n", shaken, completion, got)
	return connection.CloseWithError(0, "")
}

func download(connection *quic.Conn, request []byte) (int64, error) {
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return 0, err
	}
	if _, err := stream.Write(request); err != nil {
		return 0, err
	}
	if err := stream.Close(); err != nil {
		return 0, err
	}
	return io.Copy(io.Discard, stream)
}
