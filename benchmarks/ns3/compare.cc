// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The ns-3 side of `make bench`: the same network in ns-3, in its cheapest form (no connected trace
// source, no queue disc, segments that need no splitting), so that any bias favours ns-3.
//
//   --mode=bulk    FLOWS endless TCP transfers over one bottleneck
//   --mode=chain   one constant-rate UDP stream over LINKS links, no TCP
//
// Prints one line of JSON on standard output:
//   cpu_s            user + system time of the event loop alone, seconds
//   wall_s           elapsed time of the event loop alone, seconds
//   peak_rss_bytes   peak resident set of the whole process
//   events           executed events
//   packets          bulk: packets sent on the bottleneck towards the sinks
//                    chain: packet-hops, summed over the links
//                    (bentpipe's bench_run counts arrivals at the destination instead)
//   goodput_bytes    bytes that reached the sink applications
//   simulated_s      simulated duration, seconds
//   flows            number of flows
//   buffer_packets   size of the queues
//   resent           segments retransmitted by the flows that start at 0; printed only
//                    with --watch, which slows the run down
//
// --watch=FILE writes the file that watch.h describes. Every attribute of ns-3 is an option, such as
// --ns3::TcpBbr::HighGain=2.
//
// Sources: ns-3 manual and model library, release 3.37, chapters
// "PointToPoint NetDevice", "Queues", "TCP models in ns-3" and "Applications".

#include "usage.h"
#include "watch.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

// IPv4 and TCP headers without options.
constexpr uint32_t kHeaderBytes = 40;
// TCP timestamp option with its padding (RFC 7323 appendix A).
constexpr uint32_t kTimestampBytes = 12;
constexpr uint32_t kPacketBytes = 1500;
constexpr uint32_t kUdpHeaderBytes = 28;
constexpr uint16_t kFirstPort = 5000;

struct Options
{
    std::string mode = "bulk";
    std::string topology = "direct";
    std::string congestion = "ns3::TcpNewReno";
    uint64_t rate = 10'000'000;
    double delayMs = 250.0;
    double seconds = 400.0;
    double spread = 0.0;
    uint32_t flows = 1;
    uint32_t links = 10;
    uint32_t bufferPackets = 0;
    uint32_t socketBuffer = 0;
    uint32_t delAckCount = 1;
    bool timestamps = false;
    std::string watch;
};

// Returns the payload bytes of a segment that fills a packet.
uint32_t
SegmentBytes(const Options& options)
{
    return kPacketBytes - kHeaderBytes - (options.timestamps ? kTimestampBytes : 0);
}

// Returns the window that fills the path: the rate multiplied by the round-trip delay.
double
BandwidthDelayBytes(const Options& options)
{
    return static_cast<double>(options.rate) / 8.0 * 2.0 * options.delayMs / 1000.0;
}

uint32_t
BufferPackets(const Options& options)
{
    if (options.bufferPackets > 0)
    {
        return options.bufferPackets;
    }
    double packets = std::round(BandwidthDelayBytes(options) / kPacketBytes);
    return packets < 1.0 ? 1 : static_cast<uint32_t>(packets);
}

// Returns the number of packets that a device has sent. Every ns-3 queue keeps the counters, so no
// trace source is needed.
uint64_t
Transmitted(const Ptr<NetDevice>& device)
{
    auto queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
    return queue->GetTotalReceivedPackets() - queue->GetNPackets();
}

PointToPointHelper
Link(uint64_t rate, double delayMs, uint32_t packets)
{
    PointToPointHelper link;
    // With flow control, assigning an address would add an FqCoDel queue disc before the device,
    // and the buffer would no longer be drop-tail.
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(std::llround(delayMs * 1000.0))));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    return link;
}

struct Network
{
    Ptr<Node> source;
    Ptr<Node> sink;
    Ipv4Address sinkAddress;
    // The devices whose sent packets are reported as `packets`.
    std::vector<Ptr<NetDevice>> counted;
};

// Creates a chain of nodes with one link between each pair of neighbours. The last node is the sink.
Network
Chain(const std::vector<PointToPointHelper>& links)
{
    NodeContainer nodes;
    nodes.Create(links.size() + 1);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    Network network;
    network.source = nodes.Get(0);
    network.sink = nodes.Get(links.size());
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    for (std::size_t i = 0; i < links.size(); ++i)
    {
        PointToPointHelper link = links[i];
        NetDeviceContainer devices = link.Install(nodes.Get(i), nodes.Get(i + 1));
        network.sinkAddress = addresses.Assign(devices).GetAddress(1);
        addresses.NewNetwork();
        network.counted.push_back(devices.Get(0));
    }
    if (links.size() > 1)
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }
    return network;
}

Network
BulkNetwork(const Options& options)
{
    PointToPointHelper bottleneck = Link(options.rate, options.delayMs, BufferPackets(options));
    if (options.topology == "direct")
    {
        return Chain({bottleneck});
    }
    // Each host has an access link at ten times the rate of the bottleneck, which hardly queues.
    // The access links add two hops in each direction.
    PointToPointHelper access = Link(10 * options.rate, 0.0, 1'000'000);
    Network network = Chain({access, bottleneck, access});
    network.counted = {network.counted[1]};
    return network;
}

void
ConfigureTcp(const Options& options)
{
    uint32_t segment = SegmentBytes(options);
    // Path and queue together hold two bandwidth-delay products. Slow start overshoots to about
    // twice that. The socket buffer is twice as large again, so that it never limits the flow.
    double share = 8.0 * BandwidthDelayBytes(options) / options.flows;
    uint32_t buffer = options.socketBuffer > 0
                          ? options.socketBuffer
                          : static_cast<uint32_t>(std::max(share, 4.0 * 1024 * 1024));

    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(options.congestion)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(options.timestamps));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(options.delAckCount));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::BulkSendApplication::SendSize", UintegerValue(segment));
}

ApplicationContainer
BulkFlows(const Options& options, const Network& network)
{
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < options.flows; ++flow)
    {
        uint16_t port = kFirstPort + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.Add(sink.Install(network.sink));
        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(network.sinkAddress, port));
        ApplicationContainer sender = bulk.Install(network.source);
        sender.Start(Seconds(options.spread * flow / options.flows));
    }
    return sinks;
}

Network
ChainNetwork(const Options& options)
{
    return Chain(std::vector<PointToPointHelper>(
        options.links,
        Link(options.rate, options.delayMs, BufferPackets(options))));
}

ApplicationContainer
ChainFlow(const Options& options, const Network& network)
{
    PacketSinkHelper sink("ns3::UdpSocketFactory",
                          InetSocketAddress(Ipv4Address::GetAny(), kFirstPort));
    ApplicationContainer sinks = sink.Install(network.sink);
    UdpClientHelper client(network.sinkAddress, kFirstPort);
    // The packet interval includes the two bytes of the point-to-point header, so that the stream
    // fills the link exactly.
    double interval = (kPacketBytes + 2) * 8.0 / static_cast<double>(options.rate);
    client.SetAttribute("Interval", TimeValue(Seconds(interval)));
    client.SetAttribute("PacketSize", UintegerValue(kPacketBytes - kUdpHeaderBytes));
    client.SetAttribute("MaxPackets",
                        UintegerValue(std::numeric_limits<uint32_t>::max()));
    client.Install(network.source);
    return sinks;
}

void
Report(const Options& options,
       const Network& network,
       const ApplicationContainer& sinks,
       const Watch* watch,
       double cpu,
       double wall)
{
    uint64_t packets = 0;
    for (const auto& device : network.counted)
    {
        packets += Transmitted(device);
    }
    uint64_t goodput = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        goodput += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::printf("{\"cpu_s\": %.6f, \"wall_s\": %.6f, \"peak_rss_bytes\": %llu, "
                "\"events\": %llu, \"packets\": %llu, \"goodput_bytes\": %llu, "
                "\"simulated_s\": %g, \"flows\": %u, \"buffer_packets\": %u",
                cpu,
                wall,
                static_cast<unsigned long long>(PeakRssBytes()),
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                static_cast<unsigned long long>(packets),
                static_cast<unsigned long long>(goodput),
                options.seconds,
                options.mode == "bulk" ? options.flows : 1,
                BufferPackets(options));
    if (watch)
    {
        std::printf(", \"resent\": %llu", static_cast<unsigned long long>(watch->Resent()));
    }
    std::printf("}\n");
}

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("mode", "bulk or chain", options.mode);
    cmd.AddValue("topology", "direct, or dumbbell with access links", options.topology);
    cmd.AddValue("congestion", "TypeId of the congestion control", options.congestion);
    cmd.AddValue("rate", "bottleneck rate in bit/s", options.rate);
    cmd.AddValue("delay", "one-way delay in ms", options.delayMs);
    cmd.AddValue("duration", "simulated seconds", options.seconds);
    cmd.AddValue("spread", "seconds over which the flows start", options.spread);
    cmd.AddValue("flows", "TCP flows", options.flows);
    cmd.AddValue("links", "links of the chain", options.links);
    cmd.AddValue("buffer", "queue in packets; 0 is one BDP", options.bufferPackets);
    cmd.AddValue("socket-buffer", "socket buffers in bytes; 0 is large enough never to limit a flow", options.socketBuffer);
    cmd.AddValue("delack", "segments per acknowledgment", options.delAckCount);
    cmd.AddValue("timestamps", "TCP timestamp option", options.timestamps);
    cmd.AddValue("watch", "file that gets a line per acknowledgment; - only counts retransmissions", options.watch);
    cmd.Parse(argc, argv);

    bool bulk = options.mode == "bulk";
    bool knownTopology = options.topology == "direct" || options.topology == "dumbbell";
    if ((!bulk && options.mode != "chain") || !knownTopology || options.rate == 0 ||
        options.seconds <= 0.0 || options.delayMs < 0.0 || options.flows == 0 ||
        options.links == 0)
    {
        std::fprintf(stderr, "compare: a value is outside its range; see --help\n");
        return 2;
    }

    ConfigureTcp(options);
    Network network = bulk ? BulkNetwork(options) : ChainNetwork(options);
    ApplicationContainer sinks =
        bulk ? BulkFlows(options, network) : ChainFlow(options, network);
    Simulator::Stop(Seconds(options.seconds));
    std::unique_ptr<Watch> watch;
    if (!options.watch.empty())
    {
        watch = std::make_unique<Watch>(options.watch == "-" ? "" : options.watch,
                                        SegmentBytes(options));
        Simulator::Schedule(MicroSeconds(1), &Watch::Connect, watch.get(), network.source);
    }

    double cpu = CpuSeconds();
    auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    cpu = CpuSeconds() - cpu;
    double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

    Report(options, network, sinks, watch.get(), cpu, wall);
    Simulator::Destroy();
    return 0;
}
