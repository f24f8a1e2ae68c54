// Courses: groups of accounts with which configurations and runs can be shared.

import { type FormEvent, useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { CourseEntry, SessionUser } from "../data/api.gen";
import { useLoaded } from "../data/state";
import { Field, Notice, Title } from "../parts/basics";
import { confirmed } from "../parts/dialog";
import "./courses.css";

type Perform = (work: Promise<unknown>, confirmation?: string) => Promise<void>;

export function Courses({ user }: { user: SessionUser }) {
  const { value, error, reload } = useLoaded<CourseEntry[]>("/courses");
  const { failure, success, perform } = useActions(reload);
  const [name, setName] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void perform(
      api.post("/courses", { name }).then(() => setName("")),
      `${name} was created. Add its members.`,
    );
  };
  return (
    <>
      <Title>Courses</Title>
      <p className="soft">
        Configurations and runs can be shared with a course instead of with everybody: its members can view
        them and save copies.
      </p>
      <Notice text={error || failure} />
      <Notice text={success} kind="good" />
      {user.level !== "guest" && (
        <form className="row" onSubmit={submit}>
          <Field label="Name of a new course">
            {(id) => (
              <input
                id={id}
                required
                maxLength={64}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <button type="submit" className="primary">
            Create course
          </button>
        </form>
      )}
      {value?.length === 0 && <p>You belong to no course.</p>}
      <div className="courses">
        {value?.map((one) => (
          <Course key={one.id} course={one} perform={perform} />
        ))}
      </div>
    </>
  );
}

function Course({ course, perform }: { course: CourseEntry; perform: Perform }) {
  const [added, setAdded] = useState("");
  const set = (members: string[], confirmation: string) =>
    perform(api.put(`/courses/${course.id}/members`, { members }), confirmation);
  const add = (event: FormEvent) => {
    event.preventDefault();
    const names = added.split(/[\s,;]+/).filter(Boolean);
    const all = [...new Set([...course.members, ...names])];
    void set(all, `${course.name} has ${all.length} members.`).then(() => setAdded(""));
  };
  const remove = async () => {
    const question = {
      title: `Remove ${course.name}?`,
      about: "Its members no longer see what was shared with it. Nothing else is removed.",
      action: "Remove",
      destructive: true,
    };
    if (await confirmed(question)) await perform(api.remove(`/courses/${course.id}`));
  };
  return (
    <section className="panel" aria-label={course.name}>
      <div className="heading">
        <h2>{course.name}</h2>
        <span className="soft">led by {course.owner}</span>
        <span className="grow" />
        {course.mine && (
          <button type="button" onClick={() => void remove()} aria-label={`Remove course ${course.name}`}>
            Remove
          </button>
        )}
      </div>
      {course.members.length === 0 ? (
        <p className="soft">No members yet.</p>
      ) : (
        <ul className="members" aria-label={`Members of ${course.name}`}>
          {course.members.map((name) => (
            <li key={name}>
              {name}
              {course.mine && (
                <button
                  type="button"
                  className="plain"
                  aria-label={`Remove ${name} from ${course.name}`}
                  onClick={() =>
                    void set(
                      course.members.filter((one) => one !== name),
                      `${name} has left ${course.name}.`,
                    )
                  }
                >
                  ×
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {course.mine && (
        <form className="row" onSubmit={add}>
          <Field label={`Add members to ${course.name}`} help="Names of accounts, separated by spaces.">
            {(id, described) => (
              <input
                id={id}
                aria-describedby={described}
                required
                value={added}
                onChange={(event) => setAdded(event.target.value)}
              />
            )}
          </Field>
          <button type="submit">Add</button>
        </form>
      )}
    </section>
  );
}
