// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Watches a TCP sender of ns-3 and counts retransmitted segments. If a file is given, writes a line
// of CSV for each arriving acknowledgment. The line has the state of the sender before it processes
// this acknowledgment:
//
//   time           seconds
//   acknowledged   bytes
//   cwnd, ssthresh, in_flight   segments
//   state          TcpSocketState: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss
//   rtt            last sample of the round-trip time, seconds
//   resent         segments retransmitted so far
//
// Source: ns-3 model library 3.37, "TCP models in ns-3", trace sources of
// TcpSocketBase.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <cstdint>
#include <cstdio>
#include <string>

class Watch
{
  public:
    Watch(const std::string& name, uint32_t segment)
        : m_file(name.empty() ? nullptr : std::fopen(name.c_str(), "w")),
          m_segment(segment)
    {
        if (m_file)
        {
            std::fprintf(m_file, "time,acknowledged,cwnd,ssthresh,in_flight,state,rtt,resent\n");
        }
    }

    ~Watch()
    {
        if (m_file)
        {
            std::fclose(m_file);
        }
    }

    // Watches all TCP sockets of the node. Call it after the node's applications have started,
    // because they create the sockets.
    void Connect(ns3::Ptr<ns3::Node> node)
    {
        ns3::ObjectVectorValue sockets;
        node->GetObject<ns3::TcpL4Protocol>()->GetAttribute("SocketList", sockets);
        for (auto it = sockets.Begin(); it != sockets.End(); ++it)
        {
            auto on = [&](const char* source, const ns3::CallbackBase& hook) {
                it->second->TraceConnectWithoutContext(source, hook);
            };
            on("Tx", ns3::MakeCallback(&Watch::Sent, this));
            on("Rx", ns3::MakeCallback(&Watch::Acknowledged, this));
            on("CongestionWindow", ns3::MakeCallback(&Watch::Cwnd, this));
            on("SlowStartThreshold", ns3::MakeCallback(&Watch::Ssthresh, this));
            on("BytesInFlight", ns3::MakeCallback(&Watch::InFlight, this));
            on("CongState", ns3::MakeCallback(&Watch::State, this));
            on("RTT", ns3::MakeCallback(&Watch::Rtt, this));
        }
    }

    uint64_t Resent() const
    {
        return m_resent;
    }

  private:
    void Sent(ns3::Ptr<const ns3::Packet> packet,
              const ns3::TcpHeader& header,
              ns3::Ptr<const ns3::TcpSocketBase>)
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        if (header.GetSequenceNumber() < m_next)
        {
            ++m_resent;
        }
        else
        {
            m_next = header.GetSequenceNumber() + packet->GetSize();
        }
    }

    void Acknowledged(ns3::Ptr<const ns3::Packet>,
                      const ns3::TcpHeader& header,
                      ns3::Ptr<const ns3::TcpSocketBase>)
    {
        if (m_file)
        {
            std::fprintf(m_file,
                         "%.6f,%u,%.2f,%.2f,%.2f,%d,%.6f,%llu\n",
                         ns3::Simulator::Now().GetSeconds(),
                         header.GetAckNumber().GetValue(),
                         double(m_cwnd) / m_segment,
                         double(m_ssthresh) / m_segment,
                         double(m_inFlight) / m_segment,
                         m_state,
                         m_rtt.GetSeconds(),
                         static_cast<unsigned long long>(m_resent));
        }
    }

    void Cwnd(uint32_t, uint32_t now)
    {
        m_cwnd = now;
    }

    void Ssthresh(uint32_t, uint32_t now)
    {
        m_ssthresh = now;
    }

    void InFlight(uint32_t, uint32_t now)
    {
        m_inFlight = now;
    }

    void State(ns3::TcpSocketState::TcpCongState_t, ns3::TcpSocketState::TcpCongState_t now)
    {
        m_state = now;
    }

    void Rtt(ns3::Time, ns3::Time now)
    {
        m_rtt = now;
    }

    std::FILE* m_file;
    uint32_t m_segment;
    uint64_t m_resent = 0;
    ns3::SequenceNumber32 m_next{0};
    uint32_t m_cwnd = 0;
    uint32_t m_ssthresh = 0;
    uint32_t m_inFlight = 0;
    int m_state = 0;
    ns3::Time m_rtt;
};
