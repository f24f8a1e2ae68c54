// Server and client of a transfer over kwik: the client asks for a number of bytes on each stream, and
// the server sends them. Streams after the first are opened together, when the first ended.

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import tech.kwik.core.QuicClientConnection;
import tech.kwik.core.QuicConnection;
import tech.kwik.core.QuicStream;
import tech.kwik.core.log.NullLogger;
import tech.kwik.core.server.ApplicationProtocolConnection;
import tech.kwik.core.server.ApplicationProtocolConnectionFactory;
import tech.kwik.core.server.ServerConnectionConfig;
import tech.kwik.core.server.ServerConnector;

public class Transfer {
    private static final String PROTOCOL = "transfer";

    public static void main(String[] words) {
        try {
            run(words);
        } catch (Exception error) {
            System.err.println(error);
            System.exit(1);
        }
    }

    private static void run(String[] words) throws Exception {
        if (words.length == 4 && words[0].equals("server")) {
            serve(Integer.parseInt(words[1]), words[2], words[3]);
        } else if (words.length == 5 && words[0].equals("client")) {
            load(words[1], Integer.parseInt(words[2]), words[3].split(","));
        } else {
            throw new IllegalArgumentException("usage: server PORT CERT KEY | client HOST PORT SIZE[,SIZE...] CERT");
        }
    }

    private static void serve(int port, String cert, String key) throws Exception {
        ServerConnectionConfig config =
            ServerConnectionConfig.builder().maxOpenPeerInitiatedBidirectionalStreams(100).build();
        ServerConnector connector = ServerConnector.builder()
            .withPort(port)
            .withCertificate(new FileInputStream(cert), new FileInputStream(key))
            .withConfiguration(config)
            .withLogger(new NullLogger())
            .build();
        connector.registerApplicationProtocol(PROTOCOL, new Factory());
        connector.start();
    }

    private static class Factory implements ApplicationProtocolConnectionFactory {
        @Override
        public ApplicationProtocolConnection createConnection(String protocol, QuicConnection connection) {
            return new ApplicationProtocolConnection() {
                @Override
                public void acceptPeerInitiatedStream(QuicStream stream) {
                    new Thread(() -> answer(stream)).start();
                }
            };
        }

        @Override
        public int maxConcurrentPeerInitiatedBidirectionalStreams() {
            return 100;
        }
    }

    private static void answer(QuicStream stream) {
        try (OutputStream output = stream.getOutputStream()) {
            long left = new DataInputStream(stream.getInputStream()).readLong();
            byte[] piece = new byte[1 << 16];
            while (left > 0) {
                int size = (int) Math.min(left, piece.length);
                output.write(piece, 0, size);
                left -= size;
            }
        } catch (IOException error) {
            System.err.println(error);
        }
    }

    private static void load(String host, int port, String[] sizes) throws Exception {
        QuicClientConnection connection = QuicClientConnection.newBuilder()
            .host(host)
            .port(port)
            .applicationProtocol(PROTOCOL)
            .noServerCertificateCheck()
            .logger(new NullLogger())
            .build();
        long began = System.nanoTime();
        connection.connect();
        double shaken = (System.nanoTime() - began) / 1e9;
        long got = download(connection, sizes[0]);
        List<FutureTask<Long>> others = new ArrayList<>();
        for (String size : List.of(sizes).subList(1, sizes.length)) {
            FutureTask<Long> other = new FutureTask<>(() -> download(connection, size));
            new Thread(other).start();
            others.add(other);
        }
        for (FutureTask<Long> other : others) {
            got += other.get();
        }
        double completion = (System.nanoTime() - began) / 1e9;
        System.out.println("{\"handshake_s\": " + shaken + ", \"completion_s\": " + completion
            + ", \"bytes\": " + got + "}");
        connection.closeAndWait();
        System.exit(0);
    }

    private static long download(QuicClientConnection connection, String size) throws IOException {
        QuicStream stream = connection.createStream(true);
        DataOutputStream output = new DataOutputStream(stream.getOutputStream());
        output.writeLong(Long.parseLong(size));
        output.close();
        byte[] piece = new byte[1 << 16];
        long got = 0;
        InputStream input = stream.getInputStream();
        for (int part = input.read(piece); part >= 0; part = input.read(piece)) {
            got += part;
        }
        return got;
    }
}
