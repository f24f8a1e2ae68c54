// A constellation on a map: satellites, inter-satellite links, sites on the ground, and paths of
// flows.

import { type GeoPermissibleObjects, geoCircle, geoGraticule10, geoNaturalEarth1, geoPath } from "d3-geo";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { feature } from "topojson-client";
import type { Topology } from "topojson-specification";
import landOf from "world-atlas/land-110m.json";
import { api } from "../data/api";
import type { Map as MapData } from "../data/api.gen";
import { rounded } from "../data/format";
import { message } from "../data/state";
import { Notice } from "./basics";

const topology = landOf as unknown as Topology;
const LAND = feature(topology, topology.objects.land!) as GeoPermissibleObjects;
const WIDTH = 960;
const HEIGHT = 490;
const projection = geoNaturalEarth1().fitExtent(
  [
    [4, 4],
    [WIDTH - 4, HEIGHT - 4],
  ],
  { type: "Sphere" },
);
const path = geoPath(projection);
/** Links between satellites are drawn up to this number of satellites. */
const MAX_SATELLITES_WITH_LINKS = 400;
const EARTH_M = 6371008.8;
const STEPS = 120;

/** The map of the constellation in a scenario. `time` is the time of a run in progress; without it,
 * a slider sets the time. */
export function ConstellationMap({ text, time }: { text: string; time?: number }) {
  const id = useId();
  const [data, setData] = useState<MapData>();
  const [failure, setFailure] = useState("");
  const [chosen, setChosen] = useState(0);
  const [network, setNetwork] = useState<string>();
  const [playing, setPlaying] = useState(false);
  const at = time ?? chosen;
  const busy = useRef(false);
  const wanted = useRef("");
  useEffect(() => {
    // One request at a time. The next request is for the latest time.
    const body = JSON.stringify({ text, time: at, network: network ?? null });
    wanted.current = body;
    const next = async () => {
      if (busy.current) return;
      busy.current = true;
      try {
        let done = "";
        while (done !== wanted.current) {
          done = wanted.current;
          setData(await api.post<MapData>("/drafts/map", JSON.parse(done)));
          setFailure("");
        }
      } catch (error) {
        setFailure(message(error));
      } finally {
        busy.current = false;
      }
    };
    void next();
  }, [text, at, network]);
  const duration = data?.duration ?? 0;
  useEffect(() => {
    if (!playing || duration === 0) return;
    const timer = setInterval(
      () => setChosen((before) => (before >= duration ? 0 : Math.min(duration, before + duration / STEPS))),
      250,
    );
    return () => clearInterval(timer);
  }, [playing, duration]);
  return (
    <section aria-label="Map">
      <Notice text={failure} kind="plain" />
      {data && <MapImage data={data} />}
      {data && time === undefined && (
        <div className="row">
          <button type="button" onClick={() => setPlaying(!playing)}>
            {playing ? "Pause" : "Play"}
          </button>
          <span className="slide grow">
            <label htmlFor={id}>Time</label>
            <input
              id={id}
              type="range"
              min={0}
              max={duration}
              step={duration / STEPS}
              value={at}
              aria-valuetext={`${rounded(at)} s`}
              onChange={(event) => {
                setPlaying(false);
                setChosen(Number(event.target.value));
              }}
            />
            <output htmlFor={id}>{rounded(at)} s</output>
          </span>
          {data.networks.length > 1 && (
            <select
              aria-label="Constellation"
              value={data.network}
              onChange={(event) => setNetwork(event.target.value)}
            >
              {data.networks.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </div>
      )}
      {data && data.flows.length > 0 && (
        <ul>
          {data.flows.map((one) => (
            <li key={one.name}>
              {one.name}:{" "}
              {one.satellites
                ? `${one.satellites.map((number) => data.satellites[number]?.name).join(" → ")}, ${rounded(1000 * (one.delay ?? 0))} ms`
                : "no path"}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function MapImage({ data }: { data: MapData }) {
  const ground = useMemo(
    () => ({
      land: path(LAND) ?? "",
      grid: path(geoGraticule10()) ?? "",
      edge: path({ type: "Sphere" }) ?? "",
    }),
    [],
  );
  const few = data.satellites.length <= MAX_SATELLITES_WITH_LINKS;
  const place = (one: { longitude: number; latitude: number }): [number, number] => [
    one.longitude,
    one.latitude,
  ];
  const line = (...points: [number, number][]) => path({ type: "LineString", coordinates: points }) ?? "";
  const satellites = data.satellites;
  return (
    <svg
      className="map"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${satellites.length} satellites at ${rounded(data.time)} s`}
    >
      <path className="sea" d={ground.edge} />
      <path className="grid" d={ground.grid} />
      <path className="land" d={ground.land} />
      {few &&
        data.links.map(([a, b]) => (
          <path key={`${a} ${b}`} className="isl" d={line(place(satellites[a]!), place(satellites[b]!))} />
        ))}
      {data.sites.map((site) =>
        site.serving.map((number) => {
          const of = satellites[number]!;
          return (
            <g key={`${site.name} ${number}`}>
              <path
                className="footprint"
                d={
                  path(geoCircle().center(place(of)).radius(footprintRadius(of.altitude, site.mask))()) ?? ""
                }
              />
              <path className="serving" d={line(place(site), place(of))} />
            </g>
          );
        }),
      )}
      {data.flows.map(
        (flow) =>
          flow.satellites && (
            <path
              key={flow.name}
              className="path"
              d={line(
                place(data.sites[flow.from]!),
                ...flow.satellites.map((number) => place(satellites[number]!)),
                place(data.sites[flow.to]!),
              )}
            />
          ),
      )}
      {satellites.map((one) => {
        const [x, y] = projection(place(one)) ?? [0, 0];
        return (
          <circle key={one.name} className="satellite" cx={x} cy={y} r={few ? 2.6 : 1.4}>
            <title>{one.name}</title>
          </circle>
        );
      })}
      {data.sites.map((one) => {
        const [x, y] = projection(place(one)) ?? [0, 0];
        return (
          <g key={one.name} className="site">
            <rect x={x - 3.5} y={y - 3.5} width={7} height={7} />
            <text x={x + 7} y={y + 4}>
              {one.name}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

/** Radius of a satellite's footprint: the central angle, in degrees, between the subsatellite point
 * and the points that see the satellite at the given elevation. */
function footprintRadius(altitude: number, elevation: number): number {
  const mask = (elevation * Math.PI) / 180;
  return ((Math.acos((EARTH_M / (EARTH_M + altitude)) * Math.cos(mask)) - mask) * 180) / Math.PI;
}
