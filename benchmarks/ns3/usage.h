// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Resource usage of this process, for the programs of this folder.

#ifndef BENTPIPE_USAGE_H
#define BENTPIPE_USAGE_H

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

// Returns the user and system time of the process, in seconds.
inline double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Returns the peak resident set in bytes. VmHWM counts only this program, whereas the maxrss of
// getrusage would include the parent's memory at the fork.
inline uint64_t
PeakRssBytes()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    uint64_t kilobytes = 0;
    while (status >> word)
    {
        if (word == "VmHWM:")
        {
            status >> kilobytes;
            break;
        }
    }
    return kilobytes * 1024;
}

#endif
