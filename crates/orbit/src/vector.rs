//! Vectors in space, in metres unless stated otherwise.

/// A vector of three components.
pub type Vector = [f64; 3];

/// Returns the difference `a - b`.
#[inline]
pub fn minus(a: &Vector, b: &Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Returns the inner product of `a` and `b`.
#[inline]
pub fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Returns the cross product of `a` and `b`.
#[inline]
pub fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the length of `a`.
#[inline]
pub fn length(a: &Vector) -> f64 {
    dot(a, a).sqrt()
}

/// Returns `a` rotated about the z axis by the angle with this `sin` and `cos`.
#[inline]
pub fn turned(a: &Vector, (sin, cos): (f64, f64)) -> Vector {
    [cos * a[0] - sin * a[1], sin * a[0] + cos * a[1], a[2]]
}

/// Returns the minimum distance from the origin to the straight line from `a` to `b`.
pub fn clearance(a: &Vector, b: &Vector) -> f64 {
    let chord = minus(b, a);
    let along = (-dot(a, &chord) / dot(&chord, &chord)).clamp(0.0, 1.0);
    length(&[a[0] + along * chord[0], a[1] + along * chord[1], a[2] + along * chord[2]])
}
