// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The ns-3 side of the row "50 stations": saturated stations of 802.11a send to one receiver at 54
// Mbit/s. All stations are within about a metre, use ad hoc mode and share the yans channel. No
// trace source is connected.
//
// Prints one line of JSON with the keys cpu_s, events, packets, goodput_bytes and peak_rss_bytes of
// compare.cc. `packets` counts arrivals at the receiver's application.
//
// Sources: ns-3 model library, release 3.37, chapter "Wi-Fi Module", and the manual.

#include "usage.h"

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cstdint>
#include <cstdio>
#include <string>

using namespace ns3;

namespace
{

uint64_t g_packets = 0;
uint64_t g_bytes = 0;

void
Receive(Ptr<Socket> socket)
{
    Address from;
    while (Ptr<Packet> packet = socket->RecvFrom(from))
    {
        ++g_packets;
        g_bytes += packet->GetSize();
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t stations = 50;
    double seconds = 10.0;
    uint64_t rate = 700'000;
    CommandLine commandLine;
    commandLine.AddValue("stations", "number of senders", stations);
    commandLine.AddValue("duration", "simulated seconds", seconds);
    commandLine.AddValue("rate", "bit/s of payload that each sender offers", rate);
    commandLine.Parse(argc, argv);
    constexpr uint32_t kPayload = 1500;

    NodeContainer nodes;
    nodes.Create(stations + 1);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator("ns3::GridPositionAllocator",
                                  "DeltaX", DoubleValue(0.1), "DeltaY", DoubleValue(0.1), "GridWidth", UintegerValue(8));
    mobility.Install(nodes);

    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211a);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("OfdmRate54Mbps"), "ControlMode", StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);

    PacketSocketHelper sockets;
    sockets.Install(nodes);
    Ptr<Socket> sink = Socket::CreateSocket(nodes.Get(0), PacketSocketFactory::GetTypeId());
    PacketSocketAddress local;
    local.SetSingleDevice(devices.Get(0)->GetIfIndex());
    local.SetProtocol(1);
    sink->Bind(local);
    sink->SetRecvCallback(MakeCallback(&Receive));

    for (uint32_t station = 1; station <= stations; ++station)
    {
        PacketSocketAddress remote;
        remote.SetSingleDevice(devices.Get(station)->GetIfIndex());
        remote.SetPhysicalAddress(devices.Get(0)->GetAddress());
        remote.SetProtocol(1);
        Ptr<PacketSocketClient> client = CreateObject<PacketSocketClient>();
        client->SetAttribute("PacketSize", UintegerValue(kPayload));
        client->SetAttribute("MaxPackets", UintegerValue(0));
        client->SetAttribute("Interval", TimeValue(Seconds(kPayload * 8.0 / static_cast<double>(rate))));
        client->SetRemote(remote);
        nodes.Get(station)->AddApplication(client);
        client->SetStartTime(Seconds(0.0001 * station));
    }

    Simulator::Stop(Seconds(seconds));
    const double before = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - before;
    std::printf("{\"cpu_s\": %.6f, \"events\": %llu, \"packets\": %llu, \"goodput_bytes\": %llu, \"peak_rss_bytes\": %llu}\n",
                cpu,
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                static_cast<unsigned long long>(g_packets),
                static_cast<unsigned long long>(g_bytes),
                static_cast<unsigned long long>(PeakRssBytes()));
    Simulator::Destroy();
    return 0;
}
